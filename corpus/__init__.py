"""The offline side: from text and foreign formats to a corpus with a manifest."""
