"""The pages of envelopes: reading, drafting, deciding, trying."""
