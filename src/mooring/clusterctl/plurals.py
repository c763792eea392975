"""The plural of a kind, as Cluster API forms it: by it the name of a CustomResourceDefinition is found without asking.

Controllers of Cluster API look for the definition of a kind under ``<plural>.<group>``, and form the plural by English
rules, not by what the definition says. Whoever is called otherwise is not found. So the rules here are those that the
controllers have, with all their oddities; tests hold them against the real ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

# Each word: singular/plural, or a word that is its own plural. Others that count as a plural stand behind it.
# "=" in front: only the word itself, not a longer one that ends in it. ">" in front: its plural is that of another
# word, too, and is not taken for a plural where it stands as a whole word.
_WORDS: Final = """
aircraft beef/beef/beefs bison >blues chassis deer fish/fish/fishes moose police salmon/salmon/salmons series sheep
shrimp/shrimp/shrimps species swine/swine/swines trout/trout/trouts tuna/tuna/tunas you child/children =ox/oxen
foot/feet goose/geese man/men human/humans =louse/lice mouse/mice tooth/teeth woman/women =die/dice person/people
adieu/adieux/adieus fabliau/fabliaux bureau/bureaus/bureaux criterion/criteria ganglion/ganglia/ganglions
lexicon/lexica/lexicons mitochondrion/mitochondria/mitochondrions noumenon/noumena phenomenon/phenomena taxon/taxa
media >medium/media/mediums stadium/stadiums/stadia aquarium/aquaria/aquariums auditorium/auditoria/auditoriums
symposium/symposia/symposiums curriculum/curriculums/curricula quota/quotas alumnus/alumni/alumnuses bacillus/bacilli
cactus/cacti/cactuses coccus/cocci focus/foci/focuses locus/loci/locuses nucleus/nuclei/nucleuses
octopus/octupuses/octopi radius/radii/radiuses syllabus/syllabi corpus/corpora/corpuses genus/genera alumna/alumnae
vertebra/vertebrae differentia/differentiae minutia/minutiae vita/vitae larva/larvae postcava/postcavae
praecava/praecavae uva/uvae apex/apices/apexes codex/codices/codexes index/indices/indexes latex/latices/latexes
vertex/vertices/vertexes vortex/vortices/vortexes appendix/appendices/appendixes radix/radices/radixes
helix/helices/helixes =axis/axes crisis/crises >ellipsis/ellipses genesis/geneses oasis/oases thesis/theses
testis/testes base/bases >basis/bases =alias/aliases vedalia/vedalias =use/uses abuse/abuses cause/causes clause/clauses
cruse/cruses excuse/excuses fuse/fuses house/houses misuse/misuses muse/muses pause/pauses ache/aches topaz/topazes
buffalo/buffaloes/buffalos potato/potatoes tomato/tomatoes equipment information jeans money news rice
dwarf/dwarfs/dwarves hoof/hoofs/hooves thief/thieves chive/chives hive/hives move/moves movie/movies cookie/cookies
pretorium/pretoriums agenda/agendas formula/formulas/formulae shoe/shoes =toe/toes graffiti
"""
# Endings, the first that fits counts.
_ENDINGS: Final = """
tive/tives eaf/eaves oaf/oaves afe/aves arf/arves rfe/rves rf/rves lf/lves fe/ves ay/ays ey/eys oy/oys quy/quies uy/uys
y/ies eau/eaux bula/bulae dula/bulae lula/bulae nula/bulae vula/bulae hedron/hedra ium/ia seum/seums eum/ea oum/oa
stracum/straca dum/da elum/ela ilum/ila olum/ola ulum/ula llum/lla ylum/yla imum/ima ernum/erna gnum/gna brum/bra
crum/cra terum/tera serum/sera trum/tra antum/anta atum/ata entum/enta etum/eta itum/ita otum/ota utum/uta ctum/cta
ovum/ova trix/trices iasis/iases mesis/meses kinesis/kineses resis/reses gnosis/gnoses opsis/opses ysis/yses ouse/ouses
lause/lauses us/uses ch/ches io/ios sh/shes ss/sses ez/ezzes iz/izzes tz/tzes zz/zzes ano/anos lo/los to/tos oo/oos
o/oes x/xes
"""
# Abbreviations, which are no words: no ending of theirs changes.
_ABBREVIATIONS: Final = frozenset({"eia", "ssh", "tia"})
# Abbreviations whose plural comes out as something that no definition can be called: such a kind is never found.
_HOPELESS: Final = frozenset(("aes", "bss", "cmos", "des", "dns", "ess", "fcs", "https", "ids", "ips", "mpls", "pots"))


def crd_name(group: str, kind: str) -> str:
    """The name under which controllers of Cluster API look for the definition of a kind."""
    return f"{plural(kind.lower())}.{group}"


def plural(word: str) -> str:
    """The plural of a word in lower case."""
    if word in _SINGULAR:
        return _SINGULAR[word]
    if word in _PLURAL:
        return word
    if word in _HOPELESS:
        return f"{word}{word.upper()}es"
    if word not in _ABBREVIATIONS:
        for ending, instead in _RULES:
            if word.endswith(ending):
                return word.removesuffix(ending) + instead
    return word if word.endswith("s") else f"{word}s"


def _words() -> Iterator[tuple[str, str, str, list[str]]]:
    for entry in _WORDS.split():
        mark = entry[0] if entry[0] in "=>" else ""
        singular, *plurals = entry.removeprefix(mark).split("/")
        yield mark, singular, plurals[0] if plurals else singular, plurals[1:]


def _rules() -> Iterator[tuple[str, str]]:
    """Endings and what comes in their place: of the words, the last first, then of the table. Each ending of a plural
    comes right before that of its singular, and stays."""
    for mark, singular, plural_, _ in reversed(list(_words())):
        if mark != "=":
            yield from ((plural_, plural_), (singular, plural_))
    for entry in _ENDINGS.split():
        singular, _, plural_ = entry.partition("/")
        yield from ((plural_, plural_), (singular, plural_))


_SINGULAR: Final = {singular: plural_ for _, singular, plural_, _ in _words()}
_PLURAL: Final = frozenset(form for mark, _, plural_, others in _words() if mark != ">" for form in (plural_, *others))
_RULES: Final = tuple(_rules())
