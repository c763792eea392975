"""Who may enter: access requests are resolved, judged and labelled here, so that the right provider answers them."""
