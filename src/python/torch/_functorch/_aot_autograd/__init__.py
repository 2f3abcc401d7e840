"""Parts of AOTAutograd that scripts reach into."""
