import type { Database } from 'lmdb';
import type { CustomerId, CustomerNumber } from '../kernel/brand.ts';
import { pack, unpack } from '../kernel/pack.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

export interface Customer {
  readonly number: CustomerNumber;
  readonly id: CustomerId;
  readonly name: string;
  readonly createdAtSeconds: number;
}

const ID_FORM = /^cus_[0-9A-HJKMNP-TV-Z]{26}$/;

/** The customers of this installation: the number that prefixes their data, and their public id. */
export class Customers {
  readonly #byNumber: Database<Buffer, Buffer>;
  readonly #byId: Database<Buffer, Buffer>;

  constructor(byNumber: Database<Buffer, Buffer>, byId: Database<Buffer, Buffer>) {
    this.#byNumber = byNumber;
    this.#byId = byId;
  }

  /** For `apply`, inside its transaction. */
  insert({ number, id, name, createdAtSeconds }: Customer): void {
    const numberKey = u32Key(number);
    const idKey = keyOfId(id);
    void this.#byNumber.put(numberKey, withSum(numberKey, pack([id, name, createdAtSeconds])));
    void this.#byId.put(idKey, withSum(idKey, numberKey));
  }

  find(number: CustomerNumber): Customer | null {
    const stored = this.#byNumber.getBinary(u32Key(number));
    return stored === undefined ? null : decode(number, stored);
  }

  findById(id: string): Customer | null {
    if (!ID_FORM.test(id)) return null;
    const stored = this.#byId.getBinary(keyOfId(id));
    return stored === undefined ? null : this.find(stored.readUInt32BE(0) as CustomerNumber);
  }

  /** Returns all customers, oldest first. */
  all(): Customer[] {
    const customers: Customer[] = [];
    for (const { key, value } of this.#byNumber.getRange()) {
      customers.push(decode(Buffer.from(key).readUInt32BE(0) as CustomerNumber, value));
    }
    return customers;
  }
}

function keyOfId(id: string): Buffer {
  return Buffer.from(id.slice('cus_'.length), 'latin1');
}

function decode(number: CustomerNumber, stored: Uint8Array): Customer {
  const [id, name, createdAtSeconds] = unpack(withoutSum(stored));
  return {
    number,
    id: String(id) as CustomerId,
    name: String(name),
    createdAtSeconds: Number(createdAtSeconds),
  };
}
