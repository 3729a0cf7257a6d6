/* { "does": "a hash in pieces takes text and bytes", "console": ["900150983cd24fb0d6963f7d28e17f72"] } */
import { createHash } from 'k6/crypto';
export default function () {
  const hash = createHash('md5');
  hash.update('a');
  hash.update(new Uint8Array([98, 99]).buffer);
  console.log(hash.digest('hex'));
}
