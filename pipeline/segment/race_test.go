//go:build cgo && race

package segment_test

// maxArticles bounds the articles of each corpus that are compared: the race detector makes them slow.
const maxArticles = 500
