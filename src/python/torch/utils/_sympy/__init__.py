"""Functions of sizes that sympy lacks."""
