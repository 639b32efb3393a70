package segment

import "echosieve/pipeline/dict"

// join appends the words of the characters from i to end, each of which stands alone on the path. A letter is
// joined with the letters and digits that follow, a digit with the digits and full stops that follow. The
// model cuts the characters between ASCII characters.
func (c *cut) join(dst []string, text string, i, end int) []string {
	for i < end {
		start := i
		i++
		switch code := c.codes[start]; {
		case code >= 0x80:
			for i < end && c.codes[i] >= 0x80 {
				i++
			}
			dst = c.joinByModel(dst, text, start, i)
			continue
		case isLetter(code):
			for i < end && (isLetter(c.codes[i]) || isDigit(c.codes[i])) {
				i++
			}
		case isDigit(code):
			for i < end && (isDigit(c.codes[i]) || c.codes[i] == '.') {
				i++
			}
		}
		dst = append(dst, text[c.offsets[start]:c.offsets[i]])
	}
	return dst
}

func isLetter(code uint16) bool { return code|0x20 >= 'a' && code|0x20 <= 'z' }
func isDigit(code uint16) bool  { return code >= '0' && code <= '9' }

// joinByModel appends the words that the model finds in the characters from i to end, none of which is ASCII.
// From the first character that the model does not know, cppjieba finds only the state E: that character and
// all characters behind it stand alone, and the character before it ends a word.
func (c *cut) joinByModel(dst []string, text string, i, end int) []string {
	known := i
	for known < end && int(c.codes[known])-firstCode < len(c.s.t.model.emit) && c.codes[known] >= firstCode {
		known++
	}
	if known-i > 1 {
		c.viterbi(i, known, known < end)
		start := i
		for ; i < known; i++ {
			if state := c.states[i]; state == stateE || state == stateS {
				dst = append(dst, text[c.offsets[start]:c.offsets[i+1]])
				start = i + 1
			}
		}
	}
	for ; i < end; i++ {
		dst = append(dst, text[c.offsets[i]:c.offsets[i+1]])
	}
	return dst
}

// The states of the model: a character begins, ends or is in the middle of a word, or is a whole word.
const (
	stateB = iota
	stateE
	stateM
	stateS
)

// viterbi finds the most probable states of the characters from i to end, all of which the model knows, and
// leaves them in c.states. mustEnd says that the last one must end a word. Sums are added up in the order of
// cppjieba. Of the sixteen transitions eight are possible. dict.MinLog stands for an impossible state. If no
// sum is greater than dict.MinLog, the state counts as reached from E, as in cppjieba.
func (c *cut) viterbi(i, end int, mustEnd bool) {
	m := &c.s.t.model
	codes, from := c.codes, c.states // of a character: from which state each state comes, two bits each
	be, bm := m.trans[stateB][stateE], m.trans[stateB][stateM]
	eb, es := m.trans[stateE][stateB], m.trans[stateE][stateS]
	me, mm := m.trans[stateM][stateE], m.trans[stateM][stateM]
	sb, ss := m.trans[stateS][stateB], m.trans[stateS][stateS]
	emit := &m.emit[codes[i]-firstCode]
	b, e, mid, s := m.start[stateB]+emit[stateB], m.start[stateE]+emit[stateE], m.start[stateM]+emit[stateM],
		m.start[stateS]+emit[stateS]
	for k := i + 1; k < end; k++ {
		emit = &m.emit[codes[k]-firstCode]
		const none = dict.MinLog
		nb, ne, nm, ns := none, none, none, none
		var path uint8 = stateE | stateE<<2 | stateE<<4 | stateE<<6
		if v := e + eb + emit[stateB]; v > nb {
			nb = v
		}
		if v := s + sb + emit[stateB]; v > nb {
			nb = v
			path |= stateS
		}
		if v := b + be + emit[stateE]; v > ne {
			ne = v
			path &^= 3 << 2
		}
		if v := mid + me + emit[stateE]; v > ne {
			ne = v
			path = path&^(3<<2) | stateM<<2
		}
		if v := b + bm + emit[stateM]; v > nm {
			nm = v
			path &^= 3 << 4
		}
		if v := mid + mm + emit[stateM]; v > nm {
			nm = v
			path = path&^(3<<4) | stateM<<4
		}
		if v := e + es + emit[stateS]; v > ns {
			ns = v
		}
		if v := s + ss + emit[stateS]; v > ns {
			ns = v
			path |= stateS << 6
		}
		from[k] = path
		b, e, mid, s = nb, ne, nm, ns
	}
	state := uint8(stateE)
	if !mustEnd && e < s {
		state = stateS
	}
	for k := end - 1; k > i; k-- {
		path := from[k]
		from[k] = state
		state = path >> (2 * state) & 3
	}
	from[i] = state
}
