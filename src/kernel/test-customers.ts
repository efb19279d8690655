import type { CustomerNumber } from './brand.ts';

/**
 * Data of test keys is stored under a customer number of its own: the customer's number with this bit. So velocity, lists, rules,
 * webhooks and decisions are apart from the customer's live ones wherever they are looked up by that number. Source: contract, 3.11.
 * Choice: bit 30. Numbers of customers are issued one after another and never reach it, and bit 31 stays free for public keys.
 */
const TEST_BIT = 2 ** 30;

/** Returns the number under which the customer's test keys work. */
export function testCustomerOf(customer: CustomerNumber): CustomerNumber {
  return (liveCustomerOf(customer) + TEST_BIT) as CustomerNumber;
}

/** Returns the number of the customer itself: of its row, and of its live keys. */
export function liveCustomerOf(customer: CustomerNumber): CustomerNumber {
  return isTestCustomer(customer) ? ((customer - TEST_BIT) as CustomerNumber) : customer;
}

export function isTestCustomer(customer: CustomerNumber): boolean {
  return customer >>> 30 === 1;
}
