"""The conformance suite, which judges any data loader against the contract."""
