package packed

import (
	"encoding/hex"
	"strings"

	"echosieve/pipeline/article"
)

// Ids are the longest part of an entry after the signature, and most of them are numbers, UUIDs or hashes
// with a prefix. So a run of hexadecimal digits takes half of its length: "source-20240131" takes 12 bytes
// instead of 15, a UUID 25 instead of 36.
//
// A packed id is a sequence of:
//
//	00-7f      one ASCII character
//	80-fe      minRun to maxRun lower-case hexadecimal digits follow, two a byte; the last byte of an odd number ends with 0
//	ff         the rest of the id follows as it is; at the end of the packed id: the id is the coordinates
const (
	minRun    = 4 // a shorter run takes as much packed
	maxRun    = minRun + restOfID - 1 - hexRun
	hexRun    = 0x80
	restOfID  = 0xff
	hexDigits = "0123456789abcdef"
)

// AppendID packs the id of an article, which may be its coordinates.
func AppendID(dst []byte, r article.Ref) []byte {
	if strings.HasPrefix(r.ID, r.Topic) && r.ID == r.String() {
		return append(dst, restOfID)
	}
	for id := r.ID; id != ""; {
		n := 0
		for n < min(len(id), maxRun) && strings.IndexByte(hexDigits, id[n]) >= 0 {
			n++
		}
		switch {
		case n >= minRun:
			dst = append(dst, byte(hexRun+n-minRun))
			dst, _ = hex.AppendDecode(dst, []byte(id[:n]+"0"[:n%2])) // digits only, so there is no error
		case id[0] >= hexRun:
			return append(append(dst, restOfID), id...)
		default:
			n = 1
			dst = append(dst, id[0])
		}
		id = id[n:]
	}
	return dst
}

// UnpackID returns the id of an article with these coordinates. It reports whether the bytes are a packed id.
func UnpackID(packed string, at article.Coordinates) (id string, ok bool) {
	if packed == string([]byte{restOfID}) {
		return at.String(), true
	}
	buf := make([]byte, 0, 64)
	for i := 0; i < len(packed); {
		c := packed[i]
		i++
		switch {
		case c < hexRun:
			buf = append(buf, c)
		case c == restOfID:
			return string(append(buf, packed[i:]...)), true
		default:
			n := int(c) - hexRun + minRun
			if (n+1)/2 > len(packed)-i {
				return "", false
			}
			buf = hex.AppendEncode(buf, []byte(packed[i:i+(n+1)/2]))
			buf = buf[:len(buf)-n%2]
			i += (n + 1) / 2
		}
	}
	return string(buf), true
}
