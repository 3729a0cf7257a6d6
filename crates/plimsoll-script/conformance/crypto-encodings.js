/* { "does": "hashes come in five encodings", "console": ["DMF1ucDxtqgxw5niaXcmYQ== DMF1ucDxtqgxw5niaXcmYQ 16"] } */
import { md5 } from 'k6/crypto';
export default function () {
  console.log(md5('a', 'base64'), md5('a', 'base64rawurl'), md5('a', 'binary').byteLength);
}
