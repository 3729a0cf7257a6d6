/* { "does": "every level of the console is a line", "console": ["a", "b", "c", "d", "e"] } */
export default function () {
  console.log('a'); console.info('b'); console.debug('c'); console.warn('d'); console.error('e');
}
