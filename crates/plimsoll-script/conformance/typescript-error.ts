/* { "does": "a place in a .ts file is that of its source", "exception": "Error: typed" } */
interface Unused {
  a: number;
}
export default function (): void {
  throw new Error('typed');
}
