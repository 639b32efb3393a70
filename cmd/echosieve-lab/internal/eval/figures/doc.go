// Package figures measures how well copies are told from look-alikes: on labelled pairs of articles (Pairs), on a stream
// with labelled copies (Stream), and, without labels, by what each limit would flag (Limits). It only counts: reading
// files and running the pipeline is its callers' work, drawing that of package report. What is drawn at random, samples
// and resamples, follows from a seed.
package figures
