"""The pages of the queue, by subject."""
