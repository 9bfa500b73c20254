"""tally: a little program that counts things in texts."""
