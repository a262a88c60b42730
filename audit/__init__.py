"""What a run served: its log, its replay, and the way from a document to the steps that saw it."""
