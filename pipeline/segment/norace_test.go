//go:build cgo && !race

package segment_test

const maxArticles = 1 << 30
