"""Who makes clusters: the SDK for providers, and the providers that come with Mooring, made with it."""
