"""What ships to try Countersign with: generated documents with reference values, and envelopes that read them."""
