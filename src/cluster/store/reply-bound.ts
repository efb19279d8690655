import { Decoder, RESP_TYPES } from '@redis/client/dist/lib/RESP/decoder.js';

/** Choice: what a text takes beside its bytes; without it a reply of millions of empty ones would be small. */
const PART_BYTES = 200;
const { BLOB_STRING } = RESP_TYPES;

interface ReplySize {
  bytes: number;
}

/**
 * Bounds the memory of one reply of the store, whatever another client has written there. The client package has no such bound and no
 * place for one, so the decoder of all its connections in this thread is given it here. A connection whose reply is larger gets the error
 * that `refuse` makes. Call it once.
 */
export function boundReplies(bytesMax: number, refuse: () => Error): void {
  const sizes = new WeakMap<Decoder, ReplySize>();
  // oxlint-disable-next-line typescript/unbound-method -- called with its decoder below.
  const write: Decoder['write'] = Decoder.prototype.write;
  const add = (size: ReplySize, bytes: number): void => {
    size.bytes += bytes;
    if (size.bytes > bytesMax) throw refuse();
  };

  /** Counts the bytes since the last reply, and `PART_BYTES` more for each text, when the decoder looks up how to read it. */
  const startedFor = (decoder: Decoder): ReplySize => {
    const size: ReplySize = { bytes: 0 };
    sizes.set(decoder, size);
    for (const name of ['onReply', 'onErrorReply'] as const) {
      // The client sets these again when it resets the decoder.
      let given: (reply: never) => unknown = decoder[name];
      const counted = (reply: never): void => {
        size.bytes = 0;
        given(reply);
      };
      Object.defineProperty(decoder, name, {
        get: () => counted,
        set(next: typeof given) {
          given = next;
        },
      });
    }
    const { getTypeMapping } = decoder;
    const counting = Object.defineProperty({}, BLOB_STRING, {
      get() {
        add(size, PART_BYTES);
        return getTypeMapping()[BLOB_STRING];
      },
    });
    decoder.getTypeMapping = () => counting;
    return size;
  };

  Decoder.prototype.write = function (this: Decoder, chunk: Uint8Array): void {
    add(sizes.get(this) ?? startedFor(this), chunk.length);
    write.call(this, chunk);
  };
}
