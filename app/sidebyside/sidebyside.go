// Package sidebyside shows runs of two texts side by side, so that people see what an article and its copy have in
// common. It knows nothing of articles. Wherever an earlier and a later text stand side by side, the earlier
// one is on the left. Terminal and HTML are two forms of the same runs; JSON is the runs themselves.
//
// Texts come from strangers: both forms make control and other invisible characters visible, and HTML is escaped.
package sidebyside
