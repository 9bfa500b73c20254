"""For people who write coders: a scripted model server, and checks that any coder has to pass."""
