import type { Database } from 'lmdb';
import type { CustomerId, CustomerNumber } from '../../kernel/brand.ts';
import { liveCustomerOf, testCustomerOf } from '../../kernel/test-customers.ts';
import { MAYBE_NUMBER, omittedField, packedNumber, packedFields, packedText } from './packed-fields.ts';
import { type KeyForm, type TypedTable, typedTable, u32Form } from './typed-table.ts';

export interface Customer {
  readonly number: CustomerNumber;
  readonly id: CustomerId;
  readonly name: string;
  readonly createdAtSeconds: number;
  /** From then on its keys are refused; null if they are not. */
  readonly suspendedAtSeconds: number | null;
}

const ID_FORM = /^cus_[0-9A-HJKMNP-TV-Z]{26}$/;

type CustomerValue = Omit<Customer, 'number'>;

/** The customers of this installation: the number that prefixes their data, and their public id. */
export class Customers {
  readonly #byNumber: TypedTable<CustomerNumber, CustomerValue>;
  readonly #byId: TypedTable<string, CustomerNumber>;

  constructor(customers: Database<Buffer, Buffer>, ids: Database<Buffer, Buffer>) {
    const number = u32Form<CustomerNumber>();
    this.#byNumber = typedTable({ database: customers, key: number, value: VALUE });
    this.#byId = typedTable({ database: ids, key: ID, value: number });
  }

  /** For `apply`, inside its transaction. */
  insert(customer: Customer): void {
    this.#byNumber.put(customer.number, customer);
    this.#byId.put(customer.id, customer.number);
  }

  /** For `apply`, inside its transaction. The id must be that of the stored customer. */
  replace(customer: Customer): void {
    this.#byNumber.put(customer.number, customer);
  }

  /** For `apply`, inside its transaction. Returns whether there was one. */
  remove(customer: CustomerNumber): boolean {
    const found = this.find(customer);
    if (found === null) return false;
    this.#byId.remove(found.id);
    return this.#byNumber.remove(found.number);
  }

  /** For the number of a customer's test keys too; the result has that of the customer. */
  find(customer: CustomerNumber): Customer | null {
    const number = liveCustomerOf(customer);
    const found = this.#byNumber.get(number);
    return found && { number, ...found };
  }

  findById(id: string): Customer | null {
    const number = this.#byId.get(id);
    return number === null ? null : this.find(number);
  }

  /** Returns all customers, oldest first. */
  all(): Customer[] {
    return [...this.#byNumber.range({})].map(([number, customer]) => ({ number, ...customer }));
  }

  /** Returns the customers whose keys are refused, each with the number of its test keys. */
  suspended(): ReadonlySet<CustomerNumber> {
    const suspended = this.all().filter(({ suspendedAtSeconds }) => suspendedAtSeconds !== null);
    return new Set(suspended.flatMap(({ number }) => [number, testCustomerOf(number)]));
  }
}

const ID: KeyForm<string> = {
  encode: (id) => (ID_FORM.test(id) ? Buffer.from(id.slice('cus_'.length), 'latin1') : null),
  decode: (bytes) => `cus_${bytes.toString('latin1')}`,
};

const VALUE = packedFields<CustomerValue>({
  id: packedText(),
  name: packedText(),
  createdAtSeconds: packedNumber(),
  // Rows of customers that are not suspended end before this field, as all rows of earlier versions do.
  suspendedAtSeconds: omittedField(MAYBE_NUMBER),
});
