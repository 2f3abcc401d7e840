// Whether this is a file that holds a report, with nothing beside it that computes: no interpreter, no partitioner, no GPU. What needs one
// says so there, or is left out.
export const still: boolean = __STILL__;

/** What is said where something would have to be computed. */
export const COMPUTES_NOTHING = "This file shows what was computed when it was made: it computes nothing itself. The playground does.";
