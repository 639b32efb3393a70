// Package text turns a text in any language into clean text, and clean text into weighed words. It is pure:
// the same text gives the same result on every machine.
//
//   - Clean removes markup (markup.go), reads escapes and mojibake (escape.go, mojibake.go), and folds what writers
//     write in several ways: Unicode forms, case, scripts (clean.go), evasions (evasion.go, lookalike.go). Package marks
//     folds accents and the like.
//   - AppendNormalised makes of a clean text what the digest covers. Sentences cuts it into sentences (sentence.go).
//   - Segmenter cuts a clean text into words, in all scripts (script.go, segment.go).
//   - Counter counts and weighs the words (words.go), by tables of frequencies (terms.go) and by function
//     words (package language). Misread words count as the words that they look like (shape.go).
package text
