/* { "does": "check names may not contain the separator of groups", "exception": "::" } */
import { check } from 'k6';
export default function () { check(1, { 'a::b': true }); }
