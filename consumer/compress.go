package consumer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
)

// codecs are the names in the configuration; the index is the number in a batch's attributes.
var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

func isCodec(name string) bool { return slices.Contains(codecs, name) }

var errTooLarge = errors.New("decompressed batch is too large: raise kafka.max_message_bytes")

// decompress returns the payload of a batch, never allocating much more than limit bytes whatever the
// compressed bytes claim. Codec 0 returns src itself. Snappy and zstd are read without kafka-go's codecs,
// which trust lengths inside the data.
func decompress(codec int16, src []byte, limit int) ([]byte, error) {
	switch codec {
	case 0:
		return src, nil
	case 2:
		return unsnappy(src, limit)
	case 4:
		return unzstd(src, limit)
	case 1, 3:
		r := compress.Compression(codec).Codec().NewReader(bytes.NewReader(src))
		out, err := readLimited(r, len(src), limit)
		return out, errors.Join(err, r.Close())
	default:
		return nil, fmt.Errorf("unknown codec %d", codec)
	}
}

func readLimited(r io.Reader, compressed, limit int) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(min(4*compressed, limit))
	n, err := buf.ReadFrom(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if n > int64(limit) {
		return nil, errTooLarge
	}
	return buf.Bytes(), nil
}

// xerialMagic begins the framed snappy of Java clients: 8 bytes, two version numbers, then blocks that
// each follow their length. Other clients send one bare block.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func unsnappy(src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return appendSnappy(nil, src, limit)
	}
	if len(src) < 16 {
		return nil, errMalformed
	}
	dst := []byte{}
	for src = src[16:]; len(src) > 0; {
		if len(src) < 4 {
			return nil, errMalformed
		}
		n := int64(binary.BigEndian.Uint32(src))
		if n > int64(len(src)-4) {
			return nil, errMalformed
		}
		var err error
		if dst, err = appendSnappy(dst, src[4:4+n], limit); err != nil {
			return nil, err
		}
		src = src[4+n:]
	}
	return dst, nil
}

func appendSnappy(dst, block []byte, limit int) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	// Three bytes of snappy give 64 bytes at most: a claim beyond that is a lie.
	if n > limit-len(dst) {
		return nil, errTooLarge
	}
	if n/64 > len(block) {
		return nil, errMalformed
	}
	dst = slices.Grow(dst, n)
	out, err := snappy.Decode(dst[len(dst):len(dst)+n], block)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return dst[:len(dst)+len(out)], nil
}

// maxZstdWindow is what RFC 8878 asks every decoder to support, and all that Kafka's producers use.
const maxZstdWindow = 8 << 20

var zstdReaders sync.Pool

func unzstd(src []byte, limit int) ([]byte, error) {
	r, _ := zstdReaders.Get().(*zstd.Decoder)
	if r == nil {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
	}
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	defer func() {
		if r.Reset(nil) == nil {
			zstdReaders.Put(r)
		}
	}()
	return readLimited(r, len(src), limit)
}

// compressPayload returns src compressed and the codec used: none when the result is not smaller, so that
// the size known beforehand is an upper bound.
func compressPayload(codec int16, src []byte) ([]byte, int16, error) {
	if codec == 0 {
		return src, 0, nil
	}
	var buf bytes.Buffer
	w := compress.Compression(codec).Codec().NewWriter(&buf)
	if _, err := w.Write(src); err != nil {
		return nil, 0, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, 0, fmt.Errorf("compress: %w", err)
	}
	if buf.Len() >= len(src) {
		return src, 0, nil
	}
	return buf.Bytes(), codec, nil
}
