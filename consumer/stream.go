package consumer

import (
	"cmp"
	"errors"
	"slices"

	"echosieve/pipeline"
)

// stream yields the committed records of a fetch response in order, and keeps the offset that follows
// everything seen so far, records or not.
type stream struct {
	offset int64 // the next offset wanted; only grows

	buf      []byte
	limit    int
	pending  []abortedTransaction // by first offset, those not yet reached
	aborting map[int64]struct{}   // producers inside an aborted transaction
	batch    *batch
	records  *recordReader

	aborted, control int // records skipped
}

// newStream reads a response to a fetch at offset. Records longer than limit come without their value. The caller closes
// the stream.
func newStream(res *fetchResponse, offset int64, limit int) *stream {
	slices.SortFunc(res.aborted, func(a, b abortedTransaction) int { return cmp.Compare(a.firstOffset, b.firstOffset) })
	return &stream{offset: offset, buf: res.records, limit: limit, pending: res.aborted, aborting: map[int64]struct{}{}}
}

// more says whether the response holds something that was not looked at, other than a batch that is cut off.
func (s *stream) more() bool { return s.records != nil || !cutOff(s.buf) }

// close gives up what is left of the current batch.
func (s *stream) close() {
	if s.records != nil {
		s.records.close()
		s.records = nil
	}
}

// next returns false at the end of the response. After an error the records before it are good.
func (s *stream) next() (pipeline.Record, bool, error) {
	for {
		if s.records == nil {
			if ok, err := s.nextBatch(); !ok {
				return pipeline.Record{}, false, err
			}
			continue
		}
		rec, ok, err := s.records.next()
		switch {
		case err != nil:
			return pipeline.Record{}, false, err
		case !ok:
			// Compaction may have taken the last records: their offsets are passed all the same.
			s.offset = s.batch.lastOffset + 1
			s.close()
		case rec.Offset >= s.offset: // a batch may begin before the offset asked for
			s.offset = rec.Offset + 1
			return rec, true, nil
		}
	}
}

// nextBatch steps to the next batch. It returns false at the end and at an error.
func (s *stream) nextBatch() (bool, error) {
	if len(s.buf) == 0 {
		return false, nil
	}
	b, rest, err := parseBatch(s.buf)
	if errors.Is(err, errTruncated) {
		s.buf = nil
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.buf = rest
	if b.lastOffset < s.offset {
		return true, nil
	}
	skip, err := s.skip(b)
	if err != nil {
		return false, err
	}
	if skip {
		s.offset = b.lastOffset + 1
		return true, nil
	}
	s.batch = b
	s.records, err = b.records(s.limit)
	return err == nil, err
}

// skip says whether the batch holds no records for us: transaction markers, or data that was taken back.
func (s *stream) skip(b *batch) (bool, error) {
	for len(s.pending) > 0 && s.pending[0].firstOffset <= b.lastOffset {
		s.aborting[s.pending[0].producerID] = struct{}{}
		s.pending = s.pending[1:]
	}
	if b.control() {
		aborts, err := b.aborts(s.limit)
		if aborts {
			delete(s.aborting, b.producerID)
		}
		s.control += int(b.count)
		return true, err
	}
	if _, ok := s.aborting[b.producerID]; ok && b.transactional() {
		s.aborted += int(b.count)
		return true, nil
	}
	return false, nil
}
