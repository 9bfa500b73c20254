"""The fleet over HTTP: every verb at its address, the log as a stream, and who may ask."""
