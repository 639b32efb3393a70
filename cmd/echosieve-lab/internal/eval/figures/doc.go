// Package figures measures how well copies are told from look-alikes: on labelled pairs of articles (Pairs),
// on a stream with labelled copies (Stream), and, without labels, by what each limit would flag (Limits). It
// only counts. Its callers read files and run the pipeline; package report draws charts. Random samples and
// resamples follow from a seed, so that the same input gives the same output.
package figures
