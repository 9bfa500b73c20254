"""Where the fleet's nouns live: one folder per engine, one contract for all of them."""
