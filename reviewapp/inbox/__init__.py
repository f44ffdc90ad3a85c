"""What waits for the person who is signed in: no rows of its own, a view over the others."""
