"""Where the fleet's nouns are stored: one folder per engine, one contract for all of them."""
