"""AOTAutograd and its partitioners."""
