package segment

// findPath finds the most probable way to cut the range into words of the dictionary and single characters. It adds weights up
// from the end, in the order of cppjieba, as the order decides the last bits of a sum. Of equal weights the shortest
// first word wins.
func (c *cut) findPath() {
	n := c.n
	codes, pairs, paths, lengths := c.codes[:n+1], c.pairs[:n+1], c.weights[:n+1], c.lengths[:n+1]
	single, weights, entries := c.s.t.Single, c.s.t.Weights, c.s.t.Entries
	paths[n] = 0
	for i := n - 1; i >= 0; i-- {
		best, length := paths[i+1]+single[codes[i]], 1
		if e := pairs[i+1]; e.Code == codes[i+1] {
			for end := i + 2; ; end++ {
				if w := paths[end] + weights[e.Weight]; w > best {
					best, length = w, end-i
				}
				if e.Base == 0 {
					break
				}
				if e = entries[e.Base+uint32(codes[end])]; e.Code != codes[end] {
					break
				}
			}
		}
		paths[i], lengths[i] = best, uint16(length)
	}
}

// appendWords appends the words of the range. Characters that stand alone on the path are joined where the rules or the model
// join them, except user words.
func (c *cut) appendWords(dst []string, text string) []string {
	for i := 0; i < c.n; {
		end := i + int(c.lengths[i])
		if !c.isSingle(i) {
			dst = append(dst, text[c.offsets[i]:c.offsets[end]])
			i = end
			continue
		}
		for end < c.n && c.isSingle(end) {
			end++
		}
		dst = c.join(dst, text, i, end)
		i = end
	}
	return dst
}

// isSingle tells whether a character stands alone on the path and is no user word.
func (c *cut) isSingle(i int) bool {
	return c.lengths[i] == 1 && (c.s.alone == nil || !c.s.alone[c.codes[i]])
}
