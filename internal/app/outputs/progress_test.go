package outputs

// MostFound is mostFound, for the tests that import packages which import this one.
const MostFound = mostFound
