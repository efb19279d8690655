/** Returns "1 page" or "2 pages". `noun`: its singular, whose plural ends with s. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
