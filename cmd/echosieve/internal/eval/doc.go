// Package eval measures how well copies are told from look-alikes: on labelled pairs of articles (Pairs), on a stream
// with labelled copies (Stream), and, without labels, by what each distance would flag (Distances). It computes and
// draws reports; reading files and running the pipeline is its callers' work. Nothing here is random but what is
// sampled, and that follows from a seed.
package eval
