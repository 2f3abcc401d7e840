"""What scripts name of Inductor."""
