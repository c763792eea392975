"""Kyma's face: its objects are answered with ours. It creates API objects, and calls nobody."""
