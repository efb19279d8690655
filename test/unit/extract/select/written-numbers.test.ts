import { describe, expect, test } from 'vitest';
import { writtenMoney, writtenNumber } from '../../../../src/extract/select/written-numbers.ts';

describe('writtenNumber', () => {
  test.each([
    ['1,299.00', 1299],
    ['1.299,50', 1299.5],
    ['1 299', 1299],
    ['1\u00A0299,5', 1299.5],
    ['1’299.50', 1299.5],
    ['1,299', 1299],
    ['1.299.000', 1_299_000],
    ['1.299', 1.299],
    ['12,5', 12.5],
    ['−3', -3],
    ['-3.5 °C', -3.5],
    ['SKU-123', 123],
    ['4.5 of 5', 4.5],
    ['12 34', 12],
    ['from 7.', 7],
    ['none', null],
    ['', null],
  ])('reads %j as %j', (text, number) => {
    expect(writtenNumber(text)).toBe(number);
  });
});

describe('writtenMoney', () => {
  test.each([
    ['$1,299.00', 1299, 'USD'],
    ['12,50 €', 12.5, 'EUR'],
    ['EUR 12.50', 12.5, 'EUR'],
    ['12.50EUR', 12.5, 'EUR'],
    ['CHF 1’200.–', 1200, 'CHF'],
    ['R$ 10,00', 10, 'BRL'],
    ['199 zł', 199, 'PLN'],
    ['US$5', 5, 'USD'],
    ['-$5', -5, 'USD'],
    ['Price: 5', 5, null],
    ['5 ABC', 5, null],
  ])('reads %j', (text, amount, currency) => {
    expect(writtenMoney(text)).toEqual({ amount, currency });
  });

  test('finds no amount in a text without a number', () => {
    expect(writtenMoney('Sold out €')).toBeNull();
  });
});
