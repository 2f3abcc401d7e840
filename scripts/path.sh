# Sourced: puts the project's own tools first.
PATH="$PWD/target/tools/bin:$PATH"
export PATH
