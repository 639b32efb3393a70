// Package classic makes the fingerprints of the SimHash recipes that the field has used for years, so that
// users of one of them can compare it with the recipe news before they change. The fingerprints are equal bit
// for bit, where the original can still be run.
//
//	classic-python-200  the Python package simhash (leonsim) over the 200 heaviest words of jieba.analyse.extract_tags
//	classic-python-30   the same over the 30 heaviest
//	classic-yanyiwu     the C++ library yanyiwu/simhash over the keywords of cppjieba
//	classic-fnv         FNV-1a over all words that cppjieba's keyword extraction counts, weighted with TF-IDF
//
// Like their originals, the recipes take the raw text. They know nothing of markup, scripts, width or case.
//
// The two families see different words in one text, so the Python recipes have their own segmentation, and
// only the others use the caller's:
//
//   - Python's jieba cuts at every character that is neither Chinese nor a letter, a digit or one of +#&._%-.
//     It keeps "3.5%" and "4G" whole and knows words of mixed scripts. cppjieba cuts only at space, tab, line
//     end and the Chinese comma and full stop, so its hidden Markov model joins other punctuation to words.
//     It cuts "3.5%" and "4G" in two.
//   - An unknown word has the median IDF in Python and the mean IDF in cppjieba.
//   - Python drops 31 English stop words. cppjieba drops 1,534 Chinese and English ones.
//
// With cppjieba's words three Chinese articles of four get another fingerprint than in Python, 3 bits away on average.
//
// All of this is pure computation over embedded dictionaries, safe for concurrent use.
package classic
