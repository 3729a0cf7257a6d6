/* { "does": "an unknown hash is refused with the known ones", "k6": "k6 crashes", "exception": "hash \"sha3\" is unknown" } */
import { createHash } from 'k6/crypto';
export default function () {
  createHash('sha3');
}
