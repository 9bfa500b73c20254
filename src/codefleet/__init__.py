"""codefleet: the commander of a fleet of AI coding agents."""
