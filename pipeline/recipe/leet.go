package recipe

// minLeet is the number of digits between two letters from which a text is held to write digits for letters. Others have hardly any.
const minLeet = 4

// leetLetter is the letter for which a digit stands; 0 for none.
var leetLetter = [256]byte{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '9': 'g', '!': 'i'}

// foldLeet puts letters for digits in words of ASCII letters and digits, in place: at least half of the characters must be letters, and
// all digits stand for one. Numbers with a unit or an ending stay: 10pm, 3rd, 40s, 5mln.
func foldLeet(clean []byte) (changed bool) {
	for i := 0; i < len(clean); {
		end, letters, digits, first := i, 0, 0, 0
		for ; end < len(clean); end++ {
			c := clean[end]
			if isLetter(c) {
				letters++
			} else if leetLetter[c] != 0 && (c != '!' || end+1 < len(clean) && isLetter(clean[end+1]) && (end == 0 || clean[end-1] != '!')) {
				digits++
				if letters == 0 {
					first++
				}
			} else {
				break
			}
		}
		if end == i {
			i++
			continue
		}
		stays := end < len(clean) && isDigit(clean[end]) || i > 0 && isDigit(clean[i-1]) ||
			first > 1 || first == 1 && isEnding(clean[i], clean[i+1:end])
		if digits > 0 && digits <= letters && !stays {
			changed = true
			for j := i; j < end; j++ {
				if l := leetLetter[clean[j]]; l != 0 {
					clean[j] = l
				}
			}
		}
		i = end
	}
	return changed
}

// isEnding tells whether letters after a digit are an ending or a unit rather than the rest of a word. A single letter is one, but for
// "0f" and "1n" and the like.
func isEnding(digit byte, word []byte) bool {
	if len(word) == 1 {
		return digit != '0' && (digit != '1' || word[0] != 'f' && word[0] != 'n' && word[0] != 's' && word[0] != 't')
	}
	for _, e := range [...]string{"st", "nd", "rd", "th", "am", "pm", "bn", "mn", "mln", "bln", "cts", "km", "cm", "mm", "kg", "lb", "ft", "hr", "hp", "gb", "mb", "tv", "pct"} {
		if string(word) == e {
			return true
		}
	}
	return false
}
