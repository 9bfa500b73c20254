"""The verbs as HTTP describes them: one table for the server, its description and its clients."""
